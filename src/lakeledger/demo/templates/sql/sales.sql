-- One row for each line of an order that was not cancelled, with who bought it and what it cost.
select line.order_date,
       line.order_id,
       line.line_number,
       line.sku,
       line.product,
       line.category,
       line.quantity,
       cast(round(line.quantity * line.unit_price * (100 - line.discount_percent) / 100, 2) as decimal(12, 2)) as amount,
       purchase.channel,
       purchase.ordered_at,
       customer.customer_id,
       lower(trim(customer.email)) as email,
       customer.city,
       customer.country
  from bronze.order_lines as line
  join bronze.orders as purchase on purchase.order_id = line.order_id
  join bronze.customers as customer on customer.customer_id = purchase.customer_id
 where purchase.status <> 'cancelled'
